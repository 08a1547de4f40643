import { BY_DEFAULT, EXIT, OPTIONS } from './read-request.ts'

// For the page of commands.
console.log(JSON.stringify({ options: OPTIONS, byDefault: BY_DEFAULT, exitCodes: EXIT }))
