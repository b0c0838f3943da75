# Sourced behind common.sh: hosts made of network namespaces on this machine. Each has a name, an address of its own and one
# cable, a pair of virtual Ethernet devices, to a switch, a bridge in a namespace that has nothing else; nothing of this machine's own
# network is touched. Needs root and ip (Debian: iproute2).

net=parcc$$
# Why there can be none; nothing: they can.
hosts_missing() {
  command -v ip >/dev/null 2>&1 || { echo "no ip (iproute2)"; return; }
  [ "$(id -u)" = 0 ] || { echo "network namespaces want root"; return; }
  ip netns add "$net" 2>/dev/null || { echo "no network namespaces here"; return; }
  ip -n "$net" link add probe type veth peer name other 2>/dev/null || echo "no virtual Ethernet here"
  ip netns del "$net"
}

# How many hosts, from the first, over_tcp and over_mpi use.
use_hosts() { used=$1; }

# hosts_up N: host1 to hostN, at 10.77.0.1 and so on; and the commands $tmp/on1 to $tmp/onN, which run another on a host.
hosts_up() {
  n_hosts=$1 used=$1
  trap 'hosts_down; rm -rf "$tmp"' EXIT
  ip netns add "$net" && ip -n "$net" link add switch type bridge && ip -n "$net" link set switch up || return 1
  for i in $(seq "$n_hosts"); do
    ip netns add "$net-$i" && ip -n "$net" link add "port$i" type veth peer name cable netns "$net-$i" &&
      ip -n "$net" link set "port$i" master switch up && ip -n "$net-$i" link set lo up &&
      ip -n "$net-$i" address add "10.77.0.$i/24" dev cable && ip -n "$net-$i" link set cable up || return 1
    printf '#!/bin/sh\nexec ip netns exec %s unshare --uts sh -c '\''hostname host%s; exec "$@"'\'' sh "$@"\n' "$net-$i" "$i" >"$tmp/on$i"
    chmod +x "$tmp/on$i"
  done
  # The launch agent of Open MPI: agent [OPTION]... ADDRESS COMMAND...
  cat >"$tmp/agent" <<AGENT
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
host=\${1##*.}
shift
exec "$tmp/on\$host" sh -c "\$*"
AGENT
  chmod +x "$tmp/agent"
}

hosts_down() {
  for i in $(seq "$n_hosts"); do
    host_kill "$i"
    ip netns del "$net-$i" 2>/dev/null
  done
  ip netns del "$net" 2>/dev/null
}

# host_kill I: all that runs there is gone, without a word
host_kill() { ip netns pids "$net-$1" 2>/dev/null | xargs -r kill -9 2>/dev/null; }
cable_out() { ip -n "$net-$1" link set cable down; }
cable_in() { ip -n "$net-$1" link set cable up; }
# cables_limit RATE: of what leaves each host, and of what comes to it
cables_limit() {
  for i in $(seq "$n_hosts"); do
    for end in "$net-$i cable" "$net port$i"; do
      tc -n "${end% *}" qdisc add dev "${end#* }" root tbf rate "$1" burst 128kb latency 50ms || return 1
    done
  done
}

# over_tcp RANKS COMMAND...: divided over the hosts, by the environment of launchers
over_tcp() {
  # shellcheck disable=SC2046 # a list of words
  python3 "$root/tests/run/launch.py" $(for i in $(seq "$used"); do echo "--on $tmp/on$i"; done) --address 10.77.0.1 "$@"
}
# over_mpi RANKS COMMAND...: the same by mpiexec on host1
over_mpi() {
  list=$(for i in $(seq "$used"); do printf '%s10.77.0.%s:%s' "$([ "$i" = 1 ] || echo ,)" "$i" "$(($1 / used))"; done)
  "$tmp/on1" mpiexec --host "$list" --bind-to none --mca plm_rsh_agent "$tmp/agent" --mca oob_tcp_if_include 10.77.0.0/24 \
    --mca btl self,vader,tcp --mca btl_tcp_if_include 10.77.0.0/24 -n "$@"
}
