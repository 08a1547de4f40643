import { cancel, intro, isCancel, select, text } from '@clack/prompts'
import { projectName } from './project-name.ts'
import { TEMPLATES, TEMPLATE_NAMES, type TemplateName } from './templates.ts'

export interface Choice {
  readonly folder: string
  readonly template: TemplateName
}

/** What the command line said. */
export type Known = { readonly [Key in keyof Choice]: Choice[Key] | undefined }

/** Asks on the terminal for what is missing. Undefined when the user gave up. */
export async function ask(known: Known, byDefault: Choice): Promise<Choice | undefined> {
  intro('create-tidemark')
  const folder =
    known.folder ??
    (await text({
      message: 'In which folder?',
      placeholder: byDefault.folder,
      defaultValue: byDefault.folder,
      validate: (given = '') => nameProblem(given === '' ? byDefault.folder : given),
    }))
  const template = isCancel(folder)
    ? folder
    : (known.template ??
      (await select<TemplateName>({
        message: 'What for?',
        initialValue: byDefault.template,
        options: TEMPLATE_NAMES.map((name) => ({
          value: name,
          label: name,
          hint: TEMPLATES[name].hint,
        })),
      })))
  if (isCancel(folder) || isCancel(template)) {
    cancel('Nothing was written.')
    return undefined
  }
  return { folder, template }
}

function nameProblem(folder: string): string | undefined {
  try {
    projectName(folder)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
