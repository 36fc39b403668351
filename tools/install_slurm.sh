#!/bin/sh
# SLURM for the tests marked `slurm`, where it can be had without a question: by root on a Debian.
# The tests run daemons of their own. Elsewhere nothing happens, and the tests say that they were skipped.
PATH="$PATH:/usr/sbin"
command -v slurmctld >/dev/null && command -v munged >/dev/null && exit 0
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get install --yes --quiet --no-install-recommends slurm-wlm munge >/dev/null 2>&1 ||
	{ apt-get update --quiet >/dev/null 2>&1 &&
		apt-get install --yes --quiet --no-install-recommends slurm-wlm munge >/dev/null 2>&1; } ||
	echo "SLURM could not be installed; the tests that need it are skipped."
exit 0
