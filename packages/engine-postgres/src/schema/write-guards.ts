/** The transaction waits for the disk, whatever the server, the role or a pooler has as its default. */
export const SYNCED: string = `
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
`

/** Each statement must see what was committed before it: otherwise fences and definitions would be those from before the locks. */
export const READS_COMMITTED: string = `
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'the store needs the isolation level READ COMMITTED, this transaction has %',
      upper(current_setting('transaction_isolation'))
      USING ERRCODE = 'active_sql_transaction', HINT = 'Set default_transaction_isolation for the role.';
  END IF;
`

/**
 * The beginning of functions that assign LSNs, for any default of the server or the role. What readers can see must be
 * durable, unless whoever writes it says otherwise: a crash would undo it, and begin an epoch.
 */
export const WRITE_GUARDS: string = `${SYNCED}${READS_COMMITTED}`
