// The screen "Calendar".

export { default } from '../calendar/screen.tsx';
