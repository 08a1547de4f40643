/** Something that the service has and this gateway has not. */
export interface NotSupported {
  /** In the plural, as messages begin. */
  readonly what: string
  /** What to do instead, as an order. */
  readonly instead: string
}

type NotSupportedName =
  | 'storedProcedures'
  | 'triggers'
  | 'userDefinedFunctions'
  | 'conflicts'
  | 'users'
  | 'permissions'
  | 'clientEncryptionKeys'
  | 'attachments'
  | 'vectorSearch'
  | 'fullTextSearch'
  | 'spatial'
  | 'regularExpressions'
  | 'binaryBodies'
  | 'directMode'

/** Everything that is refused by its name. The table of docs/gateway.md has the same rows; a test compares them. */
export const NOT_SUPPORTED: Readonly<Record<NotSupportedName, NotSupported>> = {
  storedProcedures: {
    what: 'stored procedures',
    instead: 'use a transactional batch, or commitAtomically in process',
  },
  triggers: {
    what: 'triggers',
    instead: 'change the document before you write it, or act on the change feed',
  },
  userDefinedFunctions: {
    what: 'user-defined functions',
    instead: 'write the expression into the query, or define a computed property',
  },
  conflicts: {
    what: 'conflicts',
    instead: 'leave them out, because with one region none arises',
  },
  users: { what: 'users', instead: 'give the read-only key to those who only read' },
  permissions: { what: 'permissions', instead: 'give the read-only key to those who only read' },
  clientEncryptionKeys: {
    what: 'client encryption keys',
    instead: 'encrypt values in your program before you write them',
  },
  attachments: {
    what: 'attachments',
    instead: 'keep small values in the document, and the address of large ones',
  },
  vectorSearch: {
    what: 'vector search functions',
    instead: 'feed a vector index from the change feed, and ask that',
  },
  fullTextSearch: {
    what: 'full-text search functions',
    instead: 'use CONTAINS, STARTSWITH or LIKE, or feed a search engine from the change feed',
  },
  spatial: {
    what: 'spatial functions',
    instead: 'compare coordinates with BETWEEN, and work out distances in your program',
  },
  regularExpressions: {
    what: 'regular expression functions',
    instead: 'use LIKE, CONTAINS, STARTSWITH or ENDSWITH',
  },
  binaryBodies: {
    what: 'binary bodies (HybridRow, of batches and bulk of the .NET client)',
    instead:
      'leave AllowBulkExecution off and write one document at a time, or send batches from a client that writes JSON',
  },
  directMode: {
    what: 'direct connections (Direct mode, the default of the .NET and Java clients)',
    instead: 'set ConnectionMode.Gateway in .NET, and call gatewayMode() of the builder in Java',
  },
}

/** The beginning of the message that refuses it. */
export function refusalOf({ what, instead }: NotSupported): string {
  return `${what} are not supported: ${instead}`
}
