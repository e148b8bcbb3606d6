#!/bin/sh
# Figures of parameter-server jobs: tables of examples/mnist_ps.lua under five rules.
#
#   tests/bench/param_figures.sh rules [EPOCHS]    accuracy and updates a second, on threads, processes and three hosts
#   tests/bench/param_figures.sh inject [SECONDS]  updates in equal time with a straggler and delays
#   tests/bench/param_figures.sh resume [EPOCHS]   kill -9 of the server's host half way, then --resume, beside a whole run
#
# ACTORHOST is the program; MNIST is the folder of the four IDX files (default: the folder that actor.data.mnist finds).
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd -P)
program=${ACTORHOST:-$root/build/release/bindings/actorhost}
rules="bsp ssp:4 asp pbsp:2 pssp:2:4"
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
cd "$work"
export XDG_CONFIG_HOME="$work"  # hosts create their token there

# Runs the job: flags, then "--" and the job's own arguments.
train() {
  flags=""
  while [ "$1" != -- ]; do flags="$flags $1"; shift; done
  shift
  # shellcheck disable=SC2086
  "$program" --seed 1 --no-progress --log-level warn $flags "$root/examples/mnist_ps.lua" \
    ${MNIST:+--data "$MNIST"} --lr 0.1 "$@"
}

# "UPDATES SECONDS ACCURACY" of the output on standard input.
read_figures() {
  sed -n -e 's/^\([0-9]*\) updates in \([0-9.]*\) s.*/\1 \2/p' -e 's/^test accuracy: \([0-9.]*\) %/\1/p' | paste -sd ' ' -
}

on_hosts() { # rule epochs
  port=$(($(od -An -N2 -tu2 /dev/urandom) % 20000 + 20000))
  for host in 1 2 3; do
    train -n 1 --nnodes 3 --rdzv-endpoint "127.0.0.1:$port" --barrier "$1" -- --epochs "$2" >"host$host" &
  done
  wait
  cat host1 host2 host3
}

figures_rules() {
  printf '%-9s %-10s %8s %10s %10s\n' rule place updates "updates/s" "accuracy %"
  for rule in $rules; do
    for place in threads processes hosts; do
      case $place in
        threads) train -n 3 --barrier "$rule" -- --epochs "$1" >out ;;
        processes) train -n 3 --isolate --barrier "$rule" -- --epochs "$1" >out ;;
        hosts) on_hosts "$rule" "$1" >out ;;
      esac
      read_figures <out | awk -v rule="$rule" -v place=$place \
        '{ printf "%-9s %-10s %8d %10.0f %10.2f\n", rule, place, $1, $1 / $2, $3 }'
    done
  done
  grep '^data:' out
}

figures_inject() {
  spec="straggler=0.34:4x,delay=gamma(1,0.005)"
  printf 'updates in %s s with --inject %s\n' "$1" "$spec"
  for rule in $rules; do
    train -n 3 --barrier "$rule" --seconds "$1" --inject "$spec" -- --epochs 1000 >out
    read_figures <out | awk -v rule="$rule" '{ printf "%-9s %8d %8.2f %%\n", rule, $1, $3 }'
  done
}

newest_checkpoint() {
  ls saved 2>/dev/null | sed -n 's/^checkpoint-0*//p' | sort -n | tail -n 1 | grep . || echo 0
}

figures_resume() {
  whole=$(train -n 2 --barrier bsp -- --epochs "$1" | read_figures)
  train -n 2 --barrier bsp --checkpoint saved -- --epochs "$1" --save 50 >out & run=$!
  # Half way by the number of the newest checkpoint; each checkpoint covers 50 steps of both workers.
  half=$((${whole%% *} / 200))
  until [ "$(newest_checkpoint)" -ge "$half" ]; do
    kill -0 $run 2>/dev/null || { echo "the run ended before half way" >&2; exit 1; }
    sleep 0.05
  done
  kill -9 "$(pgrep -P $run || echo $run)" 2>/dev/null || kill -9 $run
  wait $run 2>/dev/null || true
  resumed=$(train -n 2 --barrier bsp --checkpoint saved --resume saved -- --epochs "$1" --save 50 | read_figures)
  echo "killed after checkpoint $half of 50 steps each"
  echo "$whole" | awk '{ printf "whole run:   %d updates, accuracy %.2f %%\n", $1, $3 }'
  echo "$resumed" | awk '{ printf "resumed run: %d updates, accuracy %.2f %%\n", $1, $3 }'
}

case ${1:-} in
  rules) figures_rules "${2:-1}" ;;
  inject) figures_inject "${2:-5}" ;;
  resume) figures_resume "${2:-1}" ;;
  *) sed -n '4,6s/^# *//p' "$0" >&2; exit 2 ;;
esac
