import { murmur3x64 } from '@tidemark/contracts/internal'

/*
 * A feed keeps positions of groups, and nothing else that is durable. What has to outlive a lease store besides
 * is kept there too, as the positions of groups that nobody reads with.
 */

/** Where the token is that leases of a group were last discarded with. */
export function discardGroup(group: string): string {
  return `discarded/${shortName(group)}`
}

/** Where the highest epochs are that owners of a group's leases had. */
export function epochsGroup(group: string): string {
  return `epochs/${shortName(group)}`
}

/** Of a fixed length: a group's own name may be as long as names may be. */
function shortName(group: string): string {
  const words = murmur3x64(new TextEncoder().encode(group))
  return [...words].map((word) => word.toString(16).padStart(8, '0')).join('')
}
