// The screen "Admin".

export { default } from '../admin/screen.tsx';
