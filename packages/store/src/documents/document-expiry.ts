import { isTtl } from '../catalog/collection-options.ts'

/**
 * When a document expires, epoch ms; undefined = never (TTL-3).
 *
 * @param defaultTtl the collection's; null = time to live is off
 */
export function expiryMs(
  document: { readonly _ts: number; readonly ttl?: unknown },
  defaultTtl: number | null,
): number | undefined {
  if (defaultTtl === null) return undefined
  const ttl = isTtl(document.ttl) ? document.ttl : defaultTtl
  return ttl === -1 ? undefined : (document._ts + ttl) * 1000
}
