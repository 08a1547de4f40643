/** A parameter value of a statement. Arrays are PostgreSQL's own text or, as bytes, its binary format. */
export type SqlValue = string | number | boolean | null | Uint8Array

/** One row, with columns in the statement's order, each as PostgreSQL's text. */
export type SqlRow = readonly (string | null)[]

/** A statement's text, complete except for its values. The same name always has the same text. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** Runs statements one after another. */
export interface Sql {
  /** Rejects with a CodedError; see `storeError`. */
  rows(statement: Statement, values?: readonly SqlValue[]): Promise<readonly SqlRow[]>
}
