#!/bin/sh
# Makes a Debian 12 with nothing in it but Node.js and npm, and clones HEAD into it: to see `npm test` and `npm start` as a new machine
# does. As root, on a Debian with debootstrap. Registries are reached as this machine reaches them.
#
#   scripts/image/clean-root.sh DIR                      makes DIR, if it is not there, and clones HEAD to DIR/root/pumphouse
#   scripts/image/clean-root.sh DIR npm test             the same, then runs the command there as root
#   scripts/image/clean-root.sh --user DIR npm start     … as a user without sudo
#
# Nothing is mounted in DIR as others see it. `rm -r --one-file-system DIR` removes it.
set -eu
user=root
if [ "${1:-}" = --user ]; then
  user=newcomer
  shift
fi
[ $# -ge 1 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
dir=$1
shift
repository=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)

if [ ! -e "$dir/etc/debian_version" ]; then
  debootstrap --variant=minbase bookworm "$dir" http://deb.debian.org/debian
fi
dir=$(cd "$dir" && pwd)
[ "$dir" != / ] || exit 2

# Node.js and npm, and how this machine reaches Debian and the npm registry.
node=$(node -p process.execPath)
mkdir -p "$dir/usr/local/bin" "$dir/usr/local/lib/node_modules" "$dir/etc/ssl/certs" "$dir/usr/local/etc"
cp "$node" "$dir/usr/local/bin/node"
cp -r "$(npm root -g)/npm" "$dir/usr/local/lib/node_modules/"
for name in npm npx; do ln -sf "../lib/node_modules/npm/bin/$name-cli.js" "$dir/usr/local/bin/$name"; done
cp /etc/resolv.conf "$dir/etc/"
for file in /etc/ssl/certs/ca-certificates.crt /etc/apt/sources.list /etc/apt/apt.conf; do
  if [ -e "$file" ]; then cp "$file" "$dir$file"; fi
done
for file in /etc/apt/apt.conf.d/*proxy*; do
  if [ -e "$file" ]; then cp "$file" "$dir/etc/apt/apt.conf.d/"; fi
done
if [ -e "$(npm config get globalconfig)" ]; then cp "$(npm config get globalconfig)" "$dir/usr/local/etc/npmrc"; fi
echo 'deb http://deb.debian.org/debian bookworm main' >"$dir/etc/apt/sources.list"
# Every machine and container has this file.
echo '127.0.0.1 localhost' >"$dir/etc/hosts"
# Every container image of Debian has this file.
printf '#!/bin/sh\nexit 101\n' >"$dir/usr/sbin/policy-rc.d"
chmod 755 "$dir/usr/sbin/policy-rc.d"
chroot "$dir" id newcomer >/dev/null 2>&1 || chroot "$dir" useradd --create-home newcomer

home=$(chroot "$dir" sh -c "echo ~$user")
clone=$dir$home/pumphouse
rm -rf "$clone"
git clone -q --no-hardlinks "$repository" "$clone"
git -C "$clone" checkout -q "$(git -C "$repository" rev-parse HEAD)"
if [ -e ~/.npmrc ]; then cp ~/.npmrc "$dir$home/"; fi
chroot "$dir" chown -R "$user:" "$home"
[ $# -gt 0 ] || exit 0

# Nothing of this machine's environment comes in but proxies, certificates and CI.
keep=$(env | grep -E '^(https?_proxy|no_proxy|HTTPS?_PROXY|NO_PROXY|NODE_EXTRA_CA_CERTS|npm_config_[a-z_]+|CI)=' | tr '\n' ' ')
# The mounts live in a namespace of their own, which ends with the command, however it ends: a /dev that stayed mounted in DIR would be
# emptied by the `rm -r` that removes DIR.
# shellcheck disable=SC2016,SC2086 # The inner shell reads its own variables; each word of $keep is one argument, none has a space.
exec unshare --mount --pid --fork --kill-child --propagation private sh -eu -c '
  dir=$1
  shift
  mount -t proc proc "$dir/proc"
  mount --rbind /dev "$dir/dev"
  exec chroot "$dir" /usr/bin/env -i "$@"
' sh "$dir" $keep HOME="$home" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  setpriv --reuid="$user" --regid="$user" --init-groups sh -c 'cd ~/pumphouse && exec "$@"' sh "$@"
