// The dialog "Book GPU resources".

export { default } from '../book/dialog.tsx';
