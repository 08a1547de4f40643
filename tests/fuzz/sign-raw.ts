import { signedHeaders } from '../gateway/signed-request.ts'

const PLACEHOLDER = /%SIGN%([A-Z]+) ([^%]*)%/g

/** Stands for the headers of a right signature: bytes are made ahead, and a signature is good for a quarter of an hour. */
export function signedPlaceholder(method: string, path: string): string {
  return `%SIGN%${method} ${path}%`
}

/** Replaces placeholders by signatures; damaged ones stay as they are. */
export function signRaw(bytes: Buffer): Buffer {
  if (!bytes.includes('%SIGN%')) return bytes
  const text = bytes.toString('latin1').replaceAll(PLACEHOLDER, (_, method: string, path: string) =>
    Object.entries(signedHeaders({ method, path }))
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join(''),
  )
  return Buffer.from(text, 'latin1')
}
