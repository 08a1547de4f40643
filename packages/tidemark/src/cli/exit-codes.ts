/** How the command ends. Scripts rely on these. */
export const EXIT = {
  ok: 0,
  /** Something failed; one line on the error output says what. */
  failure: 1,
  /** The arguments are wrong. Nothing was done. */
  usage: 2,
  /** `--verify` found documents that are missing, different or extra; `--deep` found contradictions. */
  differences: 3,
  /** SIGINT, as in shells. Completed work is kept; the same command continues from there. */
  interrupted: 130,
  /** SIGTERM. The same. */
  terminated: 143,
} as const

/** How `tidemark lag` ends: as monitoring systems expect. Wrong arguments are `unknown` there too. */
export const CHECK_EXIT = { ok: 0, warning: 1, critical: 2, unknown: 3 } as const

export type ExitCode =
  | (typeof EXIT)[keyof typeof EXIT]
  | (typeof CHECK_EXIT)[keyof typeof CHECK_EXIT]

/** Commands that compare, and end with `differences` when what they compared differs. */
export const COMPARING: readonly string[] = ['migrate', 'views verify', 'store check']
/** Commands that serve until a signal ends them: that is `ok`. */
export const SERVING: readonly string[] = ['serve', 'dev', 'ui']

/** The codes that a command, such as `views verify`, can end with. */
export function exitCodesOf(command: string): readonly ExitCode[] {
  const { ok, failure, usage, differences, interrupted, terminated } = EXIT
  const signals = SERVING.includes(command) ? [] : [interrupted, terminated]
  if (command === 'lag') return [...Object.values(CHECK_EXIT), ...signals]
  const compared = COMPARING.includes(command) ? [differences] : []
  return [ok, failure, usage, ...compared, ...signals]
}

/** Shown under `--help` of every command. */
export const EXIT_CODE_HELP = `
Exit codes (of lag: see "tidemark lag --help"):
  0    done
  1    failed; the error output says why, as "tidemark: ERR_CODE: message"
  2    wrong arguments; nothing was done
  3    --verify found documents that are missing, different or extra; --deep
       found contradictions
  130  interrupted (SIGINT); run the same command again to continue. serve
       and dev end with 0
  143  terminated (SIGTERM); the same`
