import { StoreDamagedError, StoreUnavailableError, type CodedError } from '@tidemark/contracts'

/** Primary result codes of SQLite (sqlite.org/rescode.html). */
const BUSY = 5
const LOCKED = 6
const READONLY = 8
const IOERR = 10
const CORRUPT = 11
const NOT_A_DATABASE = 26
/** Extended ones: a row is there that cannot be there. */
const CONSTRAINT_PRIMARYKEY = 1555
const CONSTRAINT_UNIQUE = 2067

/** The primary result code of an error that `node:sqlite` threw; undefined for any other error. */
export function sqliteCode(error: unknown): number | undefined {
  const code = extendedCode(error)
  return code === undefined ? undefined : code & 0xff
}

function extendedCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined
  return typeof error.errcode === 'number' ? error.errcode : undefined
}

/** Another connection holds the lock. Nothing happened; the same call may succeed later. */
export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error)
  return code === BUSY || code === LOCKED
}

/** The system could not read, write or sync a file. */
export function isIoError(error: unknown): boolean {
  return sqliteCode(error) === IOERR
}

/** The error that callers see for a failure of SQLite. Other errors are returned unchanged. */
export function storeError(error: unknown, file: string): unknown {
  const code = sqliteCode(error)
  if (code === undefined) return error
  const options = { cause: error }
  const reason = error instanceof Error ? error.message : String(error)
  if (code === CORRUPT || code === NOT_A_DATABASE || breaksKey(error)) {
    return new StoreDamagedError(`${file} is damaged: ${reason}`, options)
  }
  if (code === BUSY || code === LOCKED) {
    return new StoreUnavailableError(`${file} is held by another process: ${reason}`, options)
  }
  if (code === READONLY) {
    const why = 'this user must be able to write to it, also to read'
    return new StoreUnavailableError(`${file} cannot be written; ${why}: ${reason}`, options)
  }
  return new StoreUnavailableError(`${file} cannot be used now: ${reason}`, options)
}

function breaksKey(error: unknown): boolean {
  const code = extendedCode(error)
  return code === CONSTRAINT_PRIMARYKEY || code === CONSTRAINT_UNIQUE
}

/** Runs `act`, and throws the error that callers see. */
export function withStoreErrors<Result>(file: string, act: () => Result): Result {
  try {
    return act()
  } catch (error) {
    throw storeError(error, file)
  }
}

/** The form in which an error crosses from the writer's thread to the caller's. */
export interface PortableError {
  /** `locked`: another process had the write lock for longer than commits wait for it. */
  readonly kind: 'damaged' | 'locked' | 'unavailable'
  readonly message: string
}

export function portableError(error: unknown, file: string): PortableError {
  const coded = storeError(error, file)
  const message = coded instanceof Error ? coded.message : String(coded)
  if (coded instanceof StoreDamagedError) return { kind: 'damaged', message }
  return { kind: isBusy(error) ? 'locked' : 'unavailable', message }
}

export function errorFromPortable({ kind, message }: PortableError): CodedError {
  switch (kind) {
    case 'damaged':
      return new StoreDamagedError(message)
    case 'locked':
    case 'unavailable':
      return new StoreUnavailableError(message)
  }
}
