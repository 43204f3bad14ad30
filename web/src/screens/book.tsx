// The dialog "Book GPU resources".

import { Modal, ModalBody, ModalHeader } from '@patternfly/react-core/dist/esm/components/Modal';
import type { ReactNode } from 'react';
import type { BookDialogProps } from '../app/booking.tsx';
import { strings } from '../strings.ts';

export default function BookDialog(p: BookDialogProps): ReactNode {
  return (
    <Modal isOpen variant="large" onClose={p.onClose} aria-labelledby="book-title">
      <ModalHeader title={strings.shell.book} labelId="book-title" />
      <ModalBody>{null}</ModalBody>
    </Modal>
  );
}
