#!/bin/sh
# Runs an ssh server for a test, in the foreground: sshd.sh CONFIG. A server of root needs the user sshd and the folder
# /run/sshd. On a machine without them it gets both in a mount namespace of its own.
set -eu
PATH=$PATH:/usr/sbin
sshd=$(command -v sshd)
[ "$(id -u)" != 0 ] || { getent passwd sshd >/dev/null && [ -d /run/sshd ]; } || exec unshare --mount sh -c '
  mount -t tmpfs none /run
  mkdir -m 755 /run/sshd
  { cat /etc/passwd; echo "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin"; } >/run/passwd
  mount --bind /run/passwd /etc/passwd
  exec "$@"' sh "$sshd" -D -e -f "$1"
exec "$sshd" -D -e -f "$1"
