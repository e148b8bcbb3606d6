#!/bin/sh
# Three hosts in network namespaces of their own, joined by a bridge. The script cuts a link silently: bytes are
# dropped, and no connection breaks. It reads the link to cut from the named pipe `cut` in the working directory: a
# host's number, or `pair` for the link between hosts 1 and 2. Run it in fresh namespaces (mount, net, pid), so that
# nothing of it is visible outside or outlives it. Usage: cut_off.sh PROGRAM WORDS...
set -eu
export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" # a search for leaks cannot stop threads in fresh namespaces
mount -t tmpfs none /run
ip link add name hub type bridge
ip link set hub up
for host in 0 1 2; do
  ip netns add "host$host"
  ip link add "port$host" type veth peer name eth0 netns "host$host"
  ip link set "port$host" master hub up
  ip -n "host$host" address add "10.9.0.$((host + 1))/24" dev eth0
  ip -n "host$host" link set lo up
  ip -n "host$host" link set eth0 up
done
mkfifo cut
pids=""
program=$1
shift
for host in 0 1 2; do
  ip netns exec "host$host" "$program" --nnodes 3 --rdzv-endpoint 10.9.0.1:29500 -n 1 "$@" &
  pids="$pids $!"
done
read -r what <cut
if [ "$what" = pair ]; then
  bridge link set dev port1 isolated on
  bridge link set dev port2 isolated on
else
  ip link set "port$what" nomaster
fi
host=0
for pid in $pids; do
  code=0
  wait "$pid" || code=$?
  echo "host $host ended with $code."
  host=$((host + 1))
done
