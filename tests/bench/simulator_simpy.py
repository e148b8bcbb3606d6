# A yardstick of simulator.lua: pBSP or BSP with SimPy. Steps take 1 + Exp(1) s, and a waiting node draws again at each
# completion. Prints completed steps and seconds. Usage: simulator_simpy.py NODES TIME bsp|pbsp
import random
import sys
import time

import simpy

nodes, until, rule = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
BETA = 10
random.seed(1)
env = simpy.Environment()
done, waiting = [0] * nodes, {}
arrived = 0


def passes(node):
    step = done[node]
    return all(done[int(random.random() * nodes)] >= step for _ in range(BETA))


def bsp(node):
    global arrived
    while True:
        yield env.timeout(1 + random.expovariate(1))
        done[node] += 1
        arrived += 1
        if arrived < nodes:
            waiting[node] = env.event()
            yield waiting[node]
        else:
            arrived = 0
            for event in waiting.values():
                event.succeed()
            waiting.clear()


def pbsp(node):
    while True:
        yield env.timeout(1 + random.expovariate(1))
        done[node] += 1
        for other in [other for other in waiting if passes(other)]:
            waiting.pop(other).succeed()
        if not passes(node):
            waiting[node] = env.event()
            yield waiting[node]


for node in range(nodes):
    env.process((bsp if rule == "bsp" else pbsp)(node))
start = time.perf_counter()
env.run(until=until)
print(sum(done), time.perf_counter() - start)
