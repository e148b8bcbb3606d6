"""Trains a network of PyTorch as a worker of a run, under the barrier rule of the run.

    actorhost --nnodes 2:5 --rdzv-endpoint 127.0.0.1:17871 -n 1 --barrier ssp:4 examples/python/mnist_server.lua &
    for i in 1 2 3 4; do python3 examples/python/mnist_torch.py 127.0.0.1:17871 & done; wait

The numbered lines join the run; without them the loop is a plain loop of PyTorch.
"""

import sys

import torch

import actorhost  # 1


def digits():
    """Images (n, 784) and labels of MNIST, or of synthetic digits without its files."""
    with actorhost.Cluster(n=1) as cluster:
        images, labels = cluster.eval("""
            local train = actor.data.mnist().train
            return train:batch(actor.data.range(1, train.n))""")
    return torch.from_numpy(images), torch.from_numpy(labels).long() - 1  # classes of Lua begin at 1


def main():
    worker = actorhost.join(sys.argv[1])  # 2
    torch.set_num_threads(1)
    images, labels = digits()
    model = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    while worker.step():  # 3
        worker.pull(model)  # 4
        model.zero_grad()
        chosen = torch.randint(len(images), (64,))
        loss = torch.nn.functional.cross_entropy(model(images[chosen]), labels[chosen])
        loss.backward()
        worker.push(model)  # 5
    print(f"{worker.steps} steps, the last loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
