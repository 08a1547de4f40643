import {
  StoreDamagedError,
  StoreFormatError,
  StoreInUseError,
  StoreUnavailableError,
  UnsupportedServerError,
} from '@tidemark/contracts'
import type { SchemaState, StoreRow } from './inspect-schema.ts'
import { objectsOf, type SchemaProgram } from './schema-program.ts'

/** PostgreSQL 15, in the form of `server_version_num`. */
const OLDEST_SERVER = 150_000

/** The state of a schema for a program. */
export type SchemaVerdict =
  /** `exists`: there is an empty schema of that name. */
  | { readonly kind: 'missing'; readonly exists: boolean }
  | { readonly kind: 'current'; readonly store: StoreRow }
  | { readonly kind: 'older'; readonly store: StoreRow }
  /** Of the same version, but with functions of another program. */
  | { readonly kind: 'otherFunctions'; readonly store: StoreRow }

export interface SchemaQuestion {
  readonly schema: string
  readonly program: SchemaProgram
  /** `functionsMark` of the program. */
  readonly functions: string
}

/**
 * Throws for states that cannot be resolved: ERR_SERVER_UNSUPPORTED (too old, or not UTF-8), ERR_STORE_IN_USE (the
 * schema is used for something else), ERR_STORE_FORMAT (newer, or of before the first release), ERR_STORE_DAMAGED (something is lost; names it).
 */
export function judgeSchema(state: SchemaState, question: SchemaQuestion): SchemaVerdict {
  const { schema, program } = question
  assertServer(state)
  if (state.objects.size === 0) return { kind: 'missing', exists: state.exists }
  const newest = program.steps.length
  if (state.storeTable === 'unreleased') {
    throw new StoreFormatError(
      `schema ${schema} has tables of an unreleased version; this program reads version ${newest}. ` +
        'Nothing converts them: read them with the program that made them, and choose another schema',
    )
  }
  if (state.storeTable === 'missing') throw withoutStoreTable(state, question)
  const { store } = state
  if (store === undefined) {
    throw new StoreDamagedError(`table ${schema}.store has lost its row`)
  }
  const { version } = store
  if (version > newest) {
    throw new StoreFormatError(
      `schema ${schema} has version ${version}, this program supports up to ${newest}: ` +
        'it was migrated by a newer Tidemark, and was not touched',
    )
  }
  if (version < 1) throw new StoreDamagedError(`table ${schema}.store has version ${version}`)
  const lost = [...objectsOf(program, version)].filter((object) => !state.objects.has(object))
  if (version < newest) {
    if (lost.length > 0) throw lostObjects(schema, lost)
    return { kind: 'older', store }
  }
  if (store.functions !== question.functions) {
    const lostData = lost.filter((object) => !object.startsWith('function '))
    if (lostData.length > 0) throw lostObjects(schema, lostData)
    return { kind: 'otherFunctions', store }
  }
  if (lost.length > 0) throw lostObjects(schema, lost)
  return { kind: 'current', store }
}

/**
 * Throws for a server on which a store cannot be created or changed: as `judgeSchema`, and ERR_STORE_UNAVAILABLE for a
 * standby.
 */
export function assertPrimary({ server }: SchemaState): void {
  if (!server.isStandby) return
  throw new StoreUnavailableError(
    'the server is a standby, which takes no writes: point the URL to the primary',
  )
}

function assertServer({ server }: SchemaState): void {
  const { version, product, encoding } = server
  if (version < OLDEST_SERVER) {
    throw new UnsupportedServerError(`PostgreSQL 15 or later is needed, the server is ${product}`)
  }
  if (encoding !== 'UTF8') {
    throw new UnsupportedServerError(
      `the database's encoding must be UTF8, it is ${encoding}: create it with ENCODING 'UTF8' TEMPLATE template0`,
    )
  }
}

function withoutStoreTable({ objects }: SchemaState, { schema, program }: SchemaQuestion): Error {
  const ours = [...objectsOf(program, program.steps.length)]
  const present = ours.filter((object) => objects.has(object))
  // Some names may match by chance, but not most of them.
  if (present.length * 2 > ours.length) {
    const lost = ours.filter((object) => !objects.has(object))
    // A table of that name with other columns is not a store's either.
    return lostObjects(schema, lost.length > 0 ? lost : ['table store'])
  }
  const some = [...objects].sort().slice(0, 3).join(', ')
  return new StoreInUseError(
    `schema ${schema} is not a Tidemark store: it has ${some}${objects.size > 3 ? ', …' : ''}. ` +
      'It was not touched; choose another schema',
  )
}

function lostObjects(schema: string, lost: readonly string[]): StoreDamagedError {
  const names = [...lost].sort()
  const shown = names.slice(0, 5).join(', ')
  const more = names.length > 5 ? ` and ${names.length - 5} more` : ''
  return new StoreDamagedError(`schema ${schema} has lost ${shown}${more}`)
}
