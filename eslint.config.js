// What the linter asks of JavaScript beyond its types and its format.
import js from '@eslint/js';
import ts from 'typescript-eslint';

/** Functions that one can see whole. */
const LONGEST_FUNCTION = ['error', { max: 50, skipComments: true, skipBlankLines: true }];

export default [
  { ignores: ['build/**', 'dist/**', 'node_modules/**', 'models/**', '**/*.d.ts'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['js/**/*.{js,mjs}', 'web/**/*.js'],
    plugins: { '@typescript-eslint': ts.plugin },
    languageOptions: {
      parser: ts.parser,
      parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      ...js.configs.recommended.rules,
      'no-undef': 'off', // the compiler knows
      'no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      eqeqeq: 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      'max-lines-per-function': LONGEST_FUNCTION,
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: false }],
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/only-throw-error': 'off',
    },
  },
];
