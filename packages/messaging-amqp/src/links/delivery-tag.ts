/** A GUID of .NET has its first three parts the other way round. */
const DOTNET_ORDER = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15] as const

/** The delivery tag of a message under a lock: the bytes of its token as .NET writes them. */
export function tagOfToken(token: string): Buffer {
  return swapped(Buffer.from(token.replaceAll('-', ''), 'hex'))
}

export function tokenOfTag(tag: Buffer): string {
  const hex = swapped(tag).toString('hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-')
}

function swapped(bytes: Buffer): Buffer {
  return Buffer.from(DOTNET_ORDER.map((at) => bytes[at] ?? 0))
}
