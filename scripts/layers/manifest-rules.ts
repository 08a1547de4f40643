import { ARROWS, isWorkspacePackage } from './arrows.ts'
import type { Violation } from './import-rules.ts'
import type { Manifest, Workspace, WorkspaceFolder } from './read-workspace.ts'

/** What package.json and tsconfig.json declare, against the arrows and against each other. */
export function manifestViolations(workspace: Workspace): Violation[] {
  const found = workspace.packages.flatMap((owner) => [
    ...arrowViolations(owner),
    ...contractsViolations(owner),
    ...referenceViolations(owner),
  ])
  for (const { folder, manifest } of workspace.packages) {
    if (!workspace.rootReferences.includes(manifest.name)) {
      found.push(`tsconfig.json does not refer to ${folder}, so that \`tsc -b\` leaves it out`)
    }
  }
  return found
}

function arrowViolations({ folder, manifest }: WorkspaceFolder): Violation[] {
  const allowed = ARROWS.get(manifest.name)
  if (allowed === undefined) {
    return [`${folder}/package.json: ${manifest.name} has no arrows in scripts/layers/arrows.ts`]
  }
  const declared = { ...runtimeDependencies(manifest), ...manifest.devDependencies }
  return Object.keys(declared)
    .filter((name) => isWorkspacePackage(name) && !allowed.includes(name))
    .map((name) => `${folder}/package.json declares '${name}' against the arrows`)
}

function contractsViolations({ folder, manifest }: WorkspaceFolder): Violation[] {
  if (manifest.name !== '@tidemark/contracts') return []
  return Object.keys(runtimeDependencies(manifest)).map(
    (name) => `${folder}/package.json declares '${name}', but contracts has no runtime dependency`,
  )
}

function referenceViolations({ folder, manifest, references }: WorkspaceFolder): Violation[] {
  if (references === undefined) return [`${folder} has no tsconfig.json`]
  const declared = Object.keys(runtimeDependencies(manifest)).filter(isWorkspacePackage)
  return [
    ...declared
      .filter((name) => !references.includes(name))
      .map((name) => `${folder}/tsconfig.json does not refer to '${name}', which is declared`),
    ...references
      .filter((name) => !declared.includes(name))
      .map((name) => `${folder}/tsconfig.json refers to '${name}', which is not declared`),
  ]
}

function runtimeDependencies(manifest: Manifest): Record<string, string> {
  return {
    ...manifest.dependencies,
    ...manifest.peerDependencies,
    ...manifest.optionalDependencies,
  }
}
