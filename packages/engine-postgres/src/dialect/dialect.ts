/**
 * The few things that servers which speak PostgreSQL's protocol do not agree on. What was run and what is only
 * expected says docs/engines.md.
 */
export interface Dialect {
  readonly name: 'postgres' | 'aurora' | 'yugabyte'
  /** The server's clock, epoch ms; goes on within a transaction. */
  readonly nowMs: string
  /**
   * The server's timeline: rises with each fail-over, which may have lost commits of a primary that
   * replicates asynchronously. A constant where a fail-over loses nothing.
   */
  readonly timeline: string
  /**
   * Settings of our functions. Their statements join short lists with indexed tables and are planned once a
   * connection, perhaps while the tables are empty: everything but walking through the lists and looking up
   * is forbidden, and compiling them, which such a plan's estimated cost would set off. (Allowed, a plan made then read a whole index for each group: 3,000 writes/s, not 23,000.)
   */
  readonly planner: string
}

/** Also Citus, whose workers and coordinator are PostgreSQL. */
export const POSTGRES: Dialect = {
  name: 'postgres',
  nowMs: 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint',
  // Right at once after a promotion, unlike the control file, which waits for a checkpoint.
  timeline: `('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer`,
  planner: [
    'SET plan_cache_mode = force_generic_plan',
    'SET enable_seqscan = off',
    'SET enable_bitmapscan = off',
    'SET enable_hashjoin = off',
    'SET enable_mergejoin = off',
    'SET enable_material = off',
    'SET jit = off',
  ].join(' '),
}

/** All its instances share one storage, which acknowledges a commit after it is on several machines. */
export const AURORA: Dialect = { ...POSTGRES, name: 'aurora', timeline: '0' }

/** A commit is a majority's; there is no log of one server that a timeline could be read from. */
export const YUGABYTE: Dialect = { ...POSTGRES, name: 'yugabyte', timeline: '0' }
