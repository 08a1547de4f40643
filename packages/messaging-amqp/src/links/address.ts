import { withoutSlashes } from '@tidemark/messaging/front'

/** What the address of a link names. */
export interface LinkAddress {
  readonly node: 'entity' | 'management' | 'claims'
  /** Of the entity; empty for `$cbs`. */
  readonly path: string
}

/** Far above those of entities. */
const MAX_CHARACTERS = 2048
const CLAIMS = '$cbs'
const MANAGEMENT = '/$management'

/** Undefined for an address that names nothing, such as one that is missing. */
export function parseAddress(address: unknown): LinkAddress | undefined {
  if (typeof address !== 'string' || address.length > MAX_CHARACTERS) return undefined
  const path = withoutSlashes(address.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, ''))
  if (path === '') return undefined
  const lower = path.toLowerCase()
  if (lower === CLAIMS) return { node: 'claims', path: '' }
  if (lower.endsWith(MANAGEMENT)) {
    return { node: 'management', path: path.slice(0, -MANAGEMENT.length) }
  }
  return { node: 'entity', path }
}

/** The path of an entity's management node: a client may show a token for it alone. */
export function managementNode(path: string): string {
  return `${path}${MANAGEMENT}`
}
