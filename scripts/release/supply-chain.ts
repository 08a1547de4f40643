import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { outputOf, type Run } from '../run-program.ts'

export type Signatures =
  | { readonly kind: 'verified' }
  /** Some packages have none, or wrong ones. */
  | { readonly kind: 'wrong'; readonly packages: readonly string[] }
  /** The keys cannot be had from here. */
  | { readonly kind: 'unknown'; readonly reason: string }

interface AuditReport {
  readonly error?: { readonly summary: string }
  readonly invalid?: readonly SignedPackage[]
  readonly missing?: readonly SignedPackage[]
}

interface SignedPackage {
  readonly name: string
  readonly version: string
}

/** Whether the registry signed what is installed, and its attestations are right. */
export async function checkSignatures(root: string, run: Run): Promise<Signatures> {
  const args = ['audit', 'signatures', '--json', '--fetch-retries=1']
  const { code, stdout, stderr } = await run('npm', args, { cwd: root })
  const { error, invalid = [], missing = [] } = readReport(stdout)
  const packages = [...invalid, ...missing].map(({ name, version }) => `${name}@${version}`)
  if (packages.length > 0) return { kind: 'wrong', packages }
  if (code === 0) return { kind: 'verified' }
  return { kind: 'unknown', reason: error?.summary ?? stderr.trim() }
}

function readReport(output: string): AuditReport {
  try {
    return JSON.parse(output) as AuditReport
  } catch {
    return {} // npm failed before it could report
  }
}

const DOCUMENTS = { packages: 'packages/*', image: 'deploy/image' }

/** Writes lists of what the packages and the image are made of, as CycloneDX has them. */
export async function writeBills(
  root: string,
  { folder, run }: { readonly folder: string; readonly run: Run },
): Promise<void> {
  await using tree = await mkdtempDisposable(join(tmpdir(), 'tidemark-sbom-'))
  copyWithoutDevelopment(root, tree.path)
  for (const [name, workspaces] of Object.entries(DOCUMENTS)) {
    const members = globSync(workspaces, { cwd: root }).toSorted()
    const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only']
    args.push(...members.map((member) => `--workspace=${member}`))
    const bill = await outputOf(run, 'npm', args, { cwd: tree.path })
    writeFileSync(join(folder, `${name}.cdx.json`), `${bill}\n`)
  }
}

/** `npm sbom --omit=dev` leaves out all that is a development dependency anywhere, even where it is a real one elsewhere. */
function copyWithoutDevelopment(root: string, target: string): void {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Record<string, object>
  }
  for (const file of globSync(
    [
      'package.json',
      'packages/*/package.json',
      'examples/*/package.json',
      'deploy/image/package.json',
    ],
    { cwd: root },
  )) {
    const manifest = JSON.parse(readFileSync(join(root, file), 'utf8')) as object
    mkdirSync(dirname(join(target, file)), { recursive: true })
    writeFileSync(join(target, file), JSON.stringify({ ...manifest, devDependencies: {} }))
    const path = file === 'package.json' ? '' : dirname(file)
    lock.packages[path] = { ...lock.packages[path], devDependencies: {} }
  }
  writeFileSync(join(target, 'package-lock.json'), JSON.stringify(lock))
  cpSync(join(root, '.npmrc'), join(target, '.npmrc'))
}
