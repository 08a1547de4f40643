#!/usr/bin/env node
import { readFile } from 'node:fs/promises'
import { ask, type Choice } from './ask.ts'
import { projectName } from './project-name.ts'
import {
  BY_DEFAULT,
  EXIT,
  OPTIONS_OF_NPM,
  readRequest,
  usage,
  type Request,
} from './read-request.ts'
import { RefusedError } from './refused-error.ts'
import { TEMPLATE_NAMES } from './templates.ts'
import { writeProject } from './write-project.ts'

try {
  await create(readRequest(process.argv.slice(2)))
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  console.error(`create-tidemark: ${message.replaceAll(/\s+/g, ' ')}`)
  process.exitCode = error instanceof RefusedError ? EXIT.refused : EXIT.failure
}

async function create(request: Request): Promise<void> {
  if (request.show === 'help') return console.log(usage())
  const version = await ownVersion()
  if (request.show === 'version') return console.log(version)
  const choice = await choose(request)
  if (choice === undefined) {
    process.exitCode = EXIT.cancelled
    return
  }
  const { folder, template } = choice
  await writeProject({ folder, template, name: projectName(folder), version })
  console.log(`Wrote the template ${template} into ${folder}. Next:

  ${folder === '.' ? '' : `cd ${folder} && `}npm install
  npm test
  npm start`)
}

async function choose({ folder, template, yes }: Request): Promise<Choice | undefined> {
  if (folder !== undefined) projectName(folder)
  if (folder !== undefined && template !== undefined) return { folder, template }
  if (yes) return { folder: folder ?? BY_DEFAULT.folder, template: template ?? BY_DEFAULT.template }
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    throw new RefusedError(
      `nobody to ask here: give a folder and --template ${TEMPLATE_NAMES.join('|')}, or --yes; ${OPTIONS_OF_NPM}`,
    )
  }
  return ask({ folder, template }, BY_DEFAULT)
}

async function ownVersion(): Promise<string> {
  const manifest: unknown = JSON.parse(
    await readFile(new URL('../package.json', import.meta.url), 'utf8'),
  )
  return String(Reflect.get(Object(manifest), 'version'))
}
