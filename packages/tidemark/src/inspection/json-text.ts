/** JSON of any value that a message or document can hold: bytes as base64, whole numbers of 64 bits as text. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, replaced, indent) ?? 'null'
}

function replaced(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value
}
