/**
 * The beginning of functions that assign LSNs, for any default of the server or the role. Everything that readers can
 * see must be durable: otherwise a crash would give its LSN to another row, which readers of the first row would skip.
 * And each statement must see what was committed before it: otherwise fences and definitions would be those from before
 * the locks.
 */
export const WRITE_GUARDS: string = `
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'the store needs the isolation level READ COMMITTED, this transaction has %',
      upper(current_setting('transaction_isolation'))
      USING ERRCODE = 'active_sql_transaction', HINT = 'Set default_transaction_isolation for the role.';
  END IF;
`
