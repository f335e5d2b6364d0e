#!/bin/sh
# The sandbox tests need bubblewrap; this installs it where the tests may do so (a build machine, a container).
set -e
if [ "$(id -u)" -ne 0 ]; then
    exec sudo -n "$0"
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends bubblewrap
