import type { Tarball } from '../pack-all.ts'

/**
 * How large each package may be, in bytes, packed and unpacked: about an eighth above what it was when the limit was last set.
 * A package that needs more gets more here, in the commit that makes it grow, which says why.
 */
const LIMITS: Readonly<Record<string, readonly [packed: number, unpacked: number]>> = {
  '@tidemark/contracts': [66_000, 223_000],
  '@tidemark/cosmos': [37_000, 135_000],
  '@tidemark/engine-postgres': [139_000, 513_000],
  '@tidemark/engine-sqlite': [117_000, 434_000],
  '@tidemark/gateway': [181_000, 643_000],
  '@tidemark/jobs': [105_000, 389_000],
  '@tidemark/lease-redis': [38_000, 124_000],
  '@tidemark/messaging': [107_000, 411_000],
  '@tidemark/messaging-admin': [26_000, 89_000],
  '@tidemark/messaging-amqp': [58_000, 208_000],
  '@tidemark/nestjs': [7_000, 20_000],
  '@tidemark/otel': [15_000, 51_000],
  '@tidemark/processor': [215_000, 799_000],
  '@tidemark/store': [147_000, 559_000],
  '@tidemark/testing': [272_000, 1_228_000],
  'create-tidemark': [15_000, 44_000],
  tidemark: [253_000, 847_000],
}

/** One line for each package that is too large, and for each without a limit. */
export function sizeProblems(
  { name, packedBytes, unpackedBytes }: Tarball,
  limits = LIMITS,
): string[] {
  const limit = limits[name]
  if (limit === undefined) return ['has no limit in scripts/release/size-limits.ts']
  const [packed, unpacked] = limit
  const problems: string[] = []
  if (packedBytes > packed)
    problems.push(`has ${kilobytes(packedBytes)} packed, ${kilobytes(packed)} at most`)
  if (unpackedBytes > unpacked) {
    problems.push(`has ${kilobytes(unpackedBytes)} unpacked, ${kilobytes(unpacked)} at most`)
  }
  return problems
}

export function kilobytes(bytes: number): string {
  return `${Math.ceil(bytes / 1000)} kB`
}
