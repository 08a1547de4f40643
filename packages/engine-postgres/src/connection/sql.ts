/** A value that a statement is given. Arrays go as PostgreSQL's own text or, as bytes, in its binary format. */
export type SqlValue = string | number | boolean | null | Uint8Array

/** One row, columns in the statement's order, each as PostgreSQL's text for it. */
export type SqlRow = readonly (string | null)[]

/** A statement's text with everything but its values in place. The same name is always the same text. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** Runs statements, one after the other. */
export interface Sql {
  /** Rejects with a CodedError; see `storeError`. */
  rows(statement: Statement, values?: readonly SqlValue[]): Promise<readonly SqlRow[]>
}
