import { readFile } from 'node:fs/promises'
import { InputError } from '../input-error.ts'
import { readPrivateFile } from './private-file.ts'

export interface TlsFiles {
  readonly tlsCert?: string
  readonly tlsKey?: string
}

/** PEM texts. */
export interface Tls {
  readonly cert: string
  readonly key: string
}

/** Undefined without such files. Rejects with ERR_INPUT when one of them cannot be read. */
export async function readTls({ tlsCert, tlsKey }: TlsFiles): Promise<Tls | undefined> {
  if (tlsCert === undefined || tlsKey === undefined) return undefined
  return {
    cert: await readPem('--tls-cert', tlsCert),
    key: await readPem('--tls-key', tlsKey, (file) => readPrivateFile(file, { links: 'follow' })),
  }
}

async function readPem(
  option: string,
  file: string,
  read = (path: string): Promise<string> => readFile(path, 'utf8'),
): Promise<string> {
  try {
    return await read(file)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new InputError(`${option} ${file} cannot be read: ${reason}`, { cause })
  }
}
