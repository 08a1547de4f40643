/**
 * How functions that give out LSNs begin, whatever the server's or the role's defaults are: what readers may see is
 * durable, or a crash would give its LSN to another row, which those who read the first would pass over; and each
 * statement sees what was committed before it, or fences and definitions would be those of before the locks.
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
