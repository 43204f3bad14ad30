/*
 * Where one would look for a way to book, and has no right to: said, with who can help.
 */
import { Alert } from '@patternfly/react-core/dist/esm/components/Alert';
import { useBooking } from '../app/booking.tsx';
import { useScope } from '../app/scope.tsx';
import { B } from '../strings.ts';

export function MayNotBook() {
  const { project } = useScope();
  return useBooking().may === false ? (
    <Alert component="p" isInline variant="info" title={project ? B.book.mayNot(project) : B.book.mayNotAny} data-testid="may-not-book">
      {B.book.mayNotHow}
    </Alert>
  ) : null;
}
