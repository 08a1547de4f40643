import fc from 'fast-check'

// Set-up of every test file. Properties are tried with the same values in each run, so that what a change is judged by
// follows from the change alone, and a failure comes again. `npm run properties` tries other values.
fc.configureGlobal({ seed: Number(process.env['SEED'] ?? 1) })
