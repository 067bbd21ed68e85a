#!/usr/bin/env bash
# Makes the key file that a replica set with passwords asks for, once, and hands over to the image's own entry point.
set -euo pipefail

key=${MONGODB_KEYFILE:-/data/configdb/keyfile}
if [[ ! -s $key ]]; then
  umask 077
  head -c 756 /dev/urandom | base64 --wrap=0 >"$key.new"
  mv "$key.new" "$key"
fi
exec docker-entrypoint.sh mongod --replSet=rs0 --keyFile="$key" "$@"
