/**
 * The few differences between servers with PostgreSQL's protocol. docs/engines.md says what was tested and what is only
 * expected.
 */
export interface Dialect {
  readonly name: 'postgres' | 'aurora' | 'yugabyte'
  /** The server's clock, epoch ms; advances within a transaction. */
  readonly nowMs: string
  /**
   * The server's timeline. It rises with each fail-over, which may have lost commits of a primary that replicates
   * asynchronously. A constant where a fail-over loses nothing.
   */
  readonly timeline: string
  /**
   * `UNLOGGED` where a crash and a fail-over empty such a table, which then tells that commits may be lost. Elsewhere
   * every commit waits until it is safe.
   */
  readonly unlogged: 'UNLOGGED' | ''
  /**
   * Settings of the functions. Their statements join short lists with indexed tables and are planned once for each
   * connection, perhaps while the tables are empty. So every plan is forbidden except walking through the lists with
   * index look-ups. Compilation is off too, because the estimated cost of such a plan would trigger it. (Without these
   * settings, such a plan read a whole index for each group: 3,000 writes/s, not 23,000.)
   */
  readonly planner: string
}

/** Also Citus, whose workers and coordinator are PostgreSQL. */
export const POSTGRES: Dialect = {
  name: 'postgres',
  nowMs: 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint',
  // Correct right after a promotion, unlike the control file, which waits for a checkpoint.
  timeline: `('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer`,
  unlogged: 'UNLOGGED',
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

/** All its instances share one storage, which acknowledges a commit only when it is on several machines. */
export const AURORA: Dialect = { ...POSTGRES, name: 'aurora', timeline: '0', unlogged: '' }

/** A majority commits, and there is no log of a single server with a timeline. */
export const YUGABYTE: Dialect = { ...POSTGRES, name: 'yugabyte', timeline: '0', unlogged: '' }
