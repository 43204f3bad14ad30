/*
 * Admin: what waits for a decision, who has how much, what may be booked, and what is planned. Each part says so when
 * the asker may not see it; saving is offered to those who may.
 */
import { Tab, TabTitleText, Tabs } from '@patternfly/react-core/dist/esm/components/Tabs';
import { href, navigate, usePlace } from '../app/router.tsx';
import { B } from '../strings.ts';
import { Screen } from '../ui/screen.tsx';
import { Approvals } from './approvals.tsx';
import { Flavors } from './flavors.tsx';
import { Policy } from './policy.tsx';
import { Quotas } from './quotas.tsx';
import { Windows } from './windows.tsx';
import '../book/book.css';
import '../calendar/calendar.css';

const PARTS = { quotas: Quotas, approvals: Approvals, policy: Policy, windows: Windows, flavors: Flavors } as const;
type Part = keyof typeof PARTS;
const NAMES = Object.keys(PARTS) as Part[];

export default function AdminScreen() {
  const { parts } = usePlace();
  const here: Part = NAMES.find((n) => n === parts[1]) ?? 'quotas';
  return (
    <Screen title={B.admin.title} lead={B.admin.lead}>
      <Tabs activeKey={here} aria-label={B.admin.tabsLabel} mountOnEnter unmountOnExit inset={{ default: 'insetNone' }}
        onSelect={(_e, key) => navigate(href('admin', String(key)))}>
        {NAMES.map((n) => {
          const Body = PARTS[n];
          return (
            <Tab key={n} eventKey={n} title={<TabTitleText>{B.admin.tabs[n]}</TabTitleText>}>
              <div className="bk-tab">{here === n && <Body />}</div>
            </Tab>
          );
        })}
      </Tabs>
    </Screen>
  );
}
