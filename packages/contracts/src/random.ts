/** Chance, passed in, so that a seed reproduces a run. */
export interface Random {
  /** Uniform in [0, 1). For jitter. */
  fraction(): number
  /** `bytes` random bytes as lower-case hex. For identities (incarnations, store ids). */
  hex(bytes: number): string
}
