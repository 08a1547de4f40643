import { UnsupportedNodeError } from '../errors/unsupported-node-error.ts'

/**
 * Throws ERR_NODE_UNSUPPORTED on a Node.js that Tidemark does not run on: before 22.18, or 23, which ended before
 * it had what 22.18 has.
 */
export function assertSupportedNode(version: string = process.versions.node): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > 23 || (major === 22 && minor >= 18)) return
  throw new UnsupportedNodeError(
    `Tidemark needs Node.js 22.18 or later of 22, or 24 or later; this is ${version}`,
  )
}
