const MAPPED_IPV4 = '::ffff:'
const GROUPS = 8
/** Of an IPv6 address the groups that name a network. Its owner has all addresses in it, so they count as one client. */
const NETWORK_GROUPS = 4

/**
 * What a client is counted by: its IPv4 address, or its network of 64 bits of IPv6.
 *
 * @param remote as Node says it; undefined once the client is gone
 */
export function clientAddress(remote = ''): string {
  if (remote.startsWith(MAPPED_IPV4)) return remote.slice(MAPPED_IPV4.length)
  if (!remote.includes(':')) return remote
  const [left = [], right = []] = remote
    .split('::')
    .map((side) => side.split(':').filter((group) => group !== ''))
  const zeros = Array.from({ length: GROUPS - left.length - right.length }, () => '0')
  return `${[...left, ...zeros, ...right].slice(0, NETWORK_GROUPS).join(':')}::/64`
}
