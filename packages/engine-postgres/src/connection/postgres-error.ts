import {
  CodedError,
  InvalidDocumentError,
  StoreDamagedError,
  StoreUnavailableError,
} from '@tidemark/contracts'

/**
 * The SQLSTATE of the server's answer (postgresql.org/docs/current/errcodes-appendix.html), also when the error was
 * converted into a coded one. Undefined when the error is not from the server.
 */
export function sqlState(error: unknown): string | undefined {
  const { code, severity } = rootOf(error)
  // A server's answer has a severity; Node's error codes can have five letters too (EPIPE).
  return code !== undefined && severity !== undefined && /^[0-9A-Z]{5}$/.test(code)
    ? code
    : undefined
}

/** Serialisation failure or deadlock: nothing happened, and the same call may succeed. */
export function isRetryable(error: unknown): boolean {
  const state = sqlState(error)
  return state === '40001' || state === '40P01'
}

/** The connection ended or was never made: the outcome of its statements is unknown. */
export function isConnectionLost(error: unknown): boolean {
  if (rootOf(error) instanceof CodedError) return false
  const state = sqlState(error)
  if (state === undefined) return true
  return state.startsWith('08') || state === '57P02' || state === '57P03'
}

/**
 * The server reported that it did nothing, and another connection may succeed: it is shutting down, has become a
 * standby, has no free connection, or lost a prepared statement.
 */
export function isTemporary(error: unknown): boolean {
  const state = sqlState(error)
  return state !== undefined && (TEMPORARY.has(state) || isStalePlan(error))
}

/** Errors after which a connection must be ended and not used again. */
export function breaksConnection(error: unknown): boolean {
  const state = sqlState(error)
  if (state === undefined) return true
  const { severity } = rootOf(error)
  return severity !== 'ERROR' || state === '25006' || isStalePlan(error)
}

/** The prepared statements of this connection are gone: a pooler switched to another session. */
export function isLostStatement(error: unknown): boolean {
  const state = sqlState(error)
  return state === '26000' || state === '42P05'
}

/** The server reported that a table has changed since the statement was prepared. */
function isStalePlan(error: unknown): boolean {
  return sqlState(error) === '0A000' && rootOf(error).routine === 'RevalidateCachedQuery'
}

/** 55P03 lock not available, 57P01 shut down, 57P05 idle too long, 25P03 idle in a transaction too long. */
const TEMPORARY = new Set(['25006', '26000', '42P05', '53300', '55P03', '57P01', '57P05', '25P03'])

/** A connection that failed this way would fail again, so the error is reported at once. */
export function isLastingRefusal(error: unknown): boolean {
  const state = sqlState(error)
  if (state === undefined) return rootOf(error) instanceof CodedError
  return !(state.startsWith('08') || state.startsWith('53') || state.startsWith('57P'))
}

/**
 * Whether a statement that commits may have committed despite this error. An ERROR means no, except CockroachDB's
 * 40003. A FATAL means no only when it comes from the server that was about to run the statement. A pooler in between
 * also sends FATAL when it lost the server, at any time.
 */
export function leavesOutcomeOpen(failure: unknown): boolean {
  const state = sqlState(failure)
  const { severity, routine, syscall } = rootOf(failure)
  // An own error, not from `pg`: the server has answered.
  if (rootOf(failure) instanceof CodedError) return false
  // A write that failed did not send its last bytes, and nothing commits without them.
  if (state === undefined) return syscall !== 'write'
  if (severity === 'ERROR') return state === '40003'
  return !(SAID_BY_SERVER.has(state) && routine === 'ProcessInterrupts')
}

const SAID_BY_SERVER = new Set(['57P01', '57P05', '25P03'])

/**
 * `conflict`: may succeed at once, so it is repeated a few times. `outage`: may succeed when the server is back.
 * `lasting`: would fail again.
 */
export type FailureKind = 'conflict' | 'outage' | 'lasting'

/** How to treat the first failure on a connection; undefined when there was none. */
export function failureKind(
  failure: unknown,
  { takesWrites }: { takesWrites: boolean },
): FailureKind {
  if (failure === undefined) return 'lasting'
  if (isRetryable(failure) || isLostStatement(failure)) return 'conflict'
  // A server that never took a write is not a primary that failed over, but the wrong server.
  if (sqlState(failure) === '25006') return takesWrites ? 'outage' : 'lasting'
  return isTemporary(failure) || isConnectionLost(failure) ? 'outage' : 'lasting'
}

/** The error that callers see for a failure of `pg`. Coded errors are returned unchanged. */
export function storeError(error: unknown): CodedError {
  if (error instanceof CodedError) return error
  const reason = reasonOf(error)
  const options = { cause: error }
  const state = sqlState(error)
  if (state === undefined) {
    return new StoreUnavailableError(
      `PostgreSQL cannot be reached: ${reason}${adviceForNode(error)}`,
      options,
    )
  }
  const said = `PostgreSQL answered ${state}: ${reason}`
  if (DAMAGED.has(state) || state.startsWith('XX')) {
    return new StoreDamagedError(`${said}. The store's tables are damaged.`, options)
  }
  if (isUnstorable(state)) return new InvalidDocumentError(`${said}${limitText(state)}`, options)
  const advice = ADVICE[state] ?? ADVICE[state.slice(0, 2)]
  return new StoreUnavailableError(advice === undefined ? said : `${said}. ${advice}`, options)
}

/** For a connection that was lost during a commit. */
export function unknownOutcome(error: unknown): StoreUnavailableError {
  return new StoreUnavailableError(
    `the connection to PostgreSQL was lost while it committed (${reasonOf(error)}): ` +
      'the outcome is unknown, the write may or may not have happened',
    { cause: error },
  )
}

/** Missing schema, table, column, function or type; wrong type. */
const DAMAGED = new Set(['3F000', '42P01', '42703', '42883', '42704', '42804'])

/**
 * The data cannot be stored: a character that the database's encoding lacks, a number that is invalid or out of range
 * for its type, a key that is too long for an index. Only the commit with this data must fail, and the error must not
 * look like an outage.
 */
function isUnstorable(state: string): boolean {
  return state.startsWith('22') || state === '54000'
}

function limitText(state: string): string {
  return state === '54000'
    ? '. The partition key and the id of a document must fit into an index: about 2,600 bytes together.'
    : ''
}

/** By SQLSTATE or its class. */
const ADVICE: Readonly<Record<string, string>> = {
  '08': 'The connection was refused or lost: check that the URL is that of a PostgreSQL server, and that the server runs.',
  '28': 'Check the user and the password in the URL, and pg_hba.conf on the server.',
  '53': 'The server lacks a resource: check its log.',
  '25006':
    'It takes no writes: it is a standby, or set to read-only. Point the URL to the primary.',
  '3D000': 'Create the database first, or correct its name in the URL.',
  '42501':
    'Grant the privileges to the user of the URL: `tidemark init <url of the owner> --grant-to <user>`.',
  '53100': 'Free space on the disk of the server.',
  '53200': 'The server is out of memory.',
  '53300': 'Raise max_connections on the server, lower maxConnections here, or use a pooler.',
  '57014': 'It exceeded the statement timeout, or was cancelled.',
  '57P01': 'The server is shutting down, or an administrator ended the connection.',
  '57P03': 'The server is starting up or shutting down.',
  '58': "The server's disk or system failed: check its log.",
}

function adviceForNode(error: unknown): string {
  switch (rootOf(error).code) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return '. Check the name of the host in the URL.'
    case 'ECONNREFUSED':
      return '. Check that the server runs, and host and port in the URL.'
    case 'ENOENT':
      return '. There is no such socket: check the folder in the URL.'
    default:
      return ''
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.message !== '') return error.message
  // For a host with several addresses, Node joins the failures in an error without a message.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined
  return first instanceof Error ? first.message : error.name
}

/** The error at the end of the chain. A coded one was not made from an error of `pg`. */
interface Root {
  readonly code?: string | undefined
  readonly severity?: string | undefined
  readonly routine?: string | undefined
  readonly syscall?: string | undefined
}

/** The error of `pg` below the coded ones. */
function rootOf(error: unknown): Root {
  let root = error
  while (root instanceof CodedError && root.cause instanceof Error) root = root.cause
  if (root instanceof CodedError) return root
  if (!(root instanceof Error)) return {}
  return {
    code: 'code' in root ? text(root.code) : undefined,
    severity: 'severity' in root ? text(root.severity) : undefined,
    routine: 'routine' in root ? text(root.routine) : undefined,
    syscall: 'syscall' in root ? text(root.syscall) : undefined,
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
