// client_node: calls of @kubernetes/client-node. Prints a line of JSON for each part: {"part": ..., "error": null or text}.
import * as k8s from '@kubernetes/client-node';
import { PassThrough, Readable } from 'node:stream';

const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const apps = config.makeApiClient(k8s.AppsV1Api);
const custom = config.makeApiClient(k8s.CustomObjectsApi);
const namespace = 'default';

function check(condition, text) {
    if (!condition) {
        throw new Error(text);
    }
}

async function until(text, test) {
    for (let i = 0; i < 300; i++) {
        const value = await test();
        if (value) {
            return value;
        }
        await new Promise((done) => setTimeout(done, 200));
    }
    throw new Error(`waited 60 s for: ${text}`);
}

async function refused(code, promise) {
    try {
        await promise;
    } catch (e) {
        check(e.code === code, `answered ${e.code}, not ${code}`);
        return;
    }
    throw new Error(`was not refused with ${code}`);
}

const map = (name, data) => ({ metadata: { name, labels: { of: 'client' } }, data });
const container = { name: 'c', image: 'busybox', command: ['sh', '-c', 'echo hello; exec sleep 1000'] };

const parts = {
    'objects: create, read, replace, delete, and what is refused': async () => {
        await core.createNamespacedConfigMap({ namespace, body: map('a', { x: '1' }) });
        await refused(409, core.createNamespacedConfigMap({ namespace, body: map('a', {}) }));
        const read = await core.readNamespacedConfigMap({ namespace, name: 'a' });
        read.data.x = '2';
        await core.replaceNamespacedConfigMap({ namespace, name: 'a', body: read });
        await refused(409, core.replaceNamespacedConfigMap({ namespace, name: 'a', body: read }));
        await core.deleteNamespacedConfigMap({ namespace, name: 'a' });
        await refused(404, core.readNamespacedConfigMap({ namespace, name: 'a' }));
    },
    'patches: JSON, merge, strategic, server-side apply': async () => {
        await core.createNamespacedConfigMap({ namespace, body: map('p', { x: '1' }) });
        const patch = (body, type) => core.patchNamespacedConfigMap(
            { namespace, name: 'p', body, fieldManager: 'node', force: type === k8s.PatchStrategy.ServerSideApply || undefined },
            k8s.setHeaderOptions('Content-Type', type));
        await patch([{ op: 'replace', path: '/data/x', value: '2' }], k8s.PatchStrategy.JsonPatch);
        await patch({ data: { y: '1' } }, k8s.PatchStrategy.MergePatch);
        await patch({ data: { y: null } }, k8s.PatchStrategy.StrategicMergePatch);
        const done = await patch({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'p' }, data: { z: '3' } },
            k8s.PatchStrategy.ServerSideApply);
        check(JSON.stringify(done.data) === '{"x":"2","z":"3"}', `data is ${JSON.stringify(done.data)}`);
    },
    'any kind: create, patch, list and delete, by KubernetesObjectApi': async () => {
        const any = k8s.KubernetesObjectApi.makeApiClient(config);
        const made = await any.create({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd', namespace },
            spec: { replicas: 0, selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels: { a: 'b' } },
                spec: { containers: [container] } } } });
        check(made.metadata.uid, 'it has a uid');
        await any.patch({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd', namespace }, spec: { paused: true } });
        check((await any.list('apps/v1', 'Deployment', namespace)).items.length === 1, 'one is listed');
        await any.delete(made);
    },
    'lists: pages, selectors': async () => {
        for (let i = 0; i < 5; i++) {
            await core.createNamespacedConfigMap({ namespace, body: map(`l${i}`, {}) });
        }
        const first = await core.listNamespacedConfigMap({ namespace, labelSelector: 'of=client', limit: 4 });
        const rest = await core.listNamespacedConfigMap(
            { namespace, labelSelector: 'of=client', limit: 4, _continue: first.metadata._continue });
        check(first.items.length === 4 && rest.items.length === 2, 'two pages');
        const one = await core.listNamespacedConfigMap({ namespace, fieldSelector: 'metadata.name=l3' });
        check(one.items.length === 1, 'one by its name');
    },
    'watches: of what comes, and of what leaves a selector': async () => {
        const seen = [];
        const request = await new k8s.Watch(config).watch(`/api/v1/namespaces/${namespace}/configmaps`,
            { labelSelector: 'watched=yes' }, (type) => seen.push(type), () => {});
        await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'w', labels: { watched: 'yes' } } } });
        await until('an object that comes', () => seen.includes('ADDED'));
        await core.patchNamespacedConfigMap({ namespace, name: 'w', body: { metadata: { labels: { watched: 'no' } } } },
            k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch));
        await until('an object that leaves the selector', () => seen.includes('DELETED'));
        request.abort();
    },
    'informers: list, and watch on': async () => {
        const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`,
            () => core.listNamespacedConfigMap({ namespace }));
        const names = new Set();
        informer.on('add', (o) => names.add(o.metadata.name));
        await informer.start();
        await core.createNamespacedConfigMap({ namespace, body: map('inform', {}) });
        await until('the informer', () => names.has('inform') && names.has('l0'));
        await informer.stop();
    },
    'custom kinds: defined, created, and refused by their schema': async () => {
        const extensions = config.makeApiClient(k8s.ApiextensionsV1Api);
        await extensions.createCustomResourceDefinition({ body: { metadata: { name: 'boats.example.com' }, spec: {
            group: 'example.com', scope: 'Namespaced', names: { plural: 'boats', singular: 'boat', kind: 'Boat' },
            versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object',
                properties: { spec: { type: 'object', properties: { oars: { type: 'integer', minimum: 0 } } } } } } }] } } });
        const at = { group: 'example.com', version: 'v1', namespace, plural: 'boats' };
        const boat = (oars) => ({ apiVersion: 'example.com/v1', kind: 'Boat', metadata: { name: `b${oars}` }, spec: { oars } });
        await until('the kind to be served', () => custom.listNamespacedCustomObject(at).catch(() => null));
        await custom.createNamespacedCustomObject({ ...at, body: boat(2) });
        await refused(422, custom.createNamespacedCustomObject({ ...at, body: boat(-1) }));
    },
    'pods: logs, exec': async () => {
        await core.createNamespacedPod({ namespace, body: { metadata: { name: 'pod' }, spec: {
            terminationGracePeriodSeconds: 0, containers: [container] } } });
        await until('the pod', async () => (await core.readNamespacedPod({ namespace, name: 'pod' })).status.phase === 'Running');
        const text = await until('its log', () => core.readNamespacedPodLog({ namespace, name: 'pod' }));
        check(text.startsWith('hello'), `the log is ${text}`);
        const out = new PassThrough();
        let said = '';
        out.on('data', (d) => { said += d; });
        const status = await new Promise((done, fail) => {
            new k8s.Exec(config).exec(namespace, 'pod', 'c', ['cat'], out, null, Readable.from(['inside']), false, done).catch(fail);
        });
        check(status.status === 'Success' && said === 'inside', `exec said ${JSON.stringify(said)}`);
        await core.deleteNamespacedPod({ namespace, name: 'pod' });
    },
    'Deployments: status and scale': async () => {
        await apps.createNamespacedDeployment({ namespace, body: { metadata: { name: 's' }, spec: { replicas: 0,
            selector: { matchLabels: { s: 's' } }, template: { metadata: { labels: { s: 's' } }, spec: { containers: [container] } } } } });
        await until('a Scale that nobody else wrote in between', async () => {
            const scale = await apps.readNamespacedDeploymentScale({ namespace, name: 's' });
            scale.spec.replicas = 1;
            return apps.replaceNamespacedDeploymentScale({ namespace, name: 's', body: scale }).catch((e) => {
                check(e.code === 409, `answered ${e.code}`);
            });
        });
        await until('a replica', async () => (await apps.readNamespacedDeploymentStatus({ namespace, name: 's' })).status.replicas === 1);
        await apps.deleteNamespacedDeployment({ namespace, name: 's' });
    },
    'the API: its version, groups and kinds': async () => {
        check((await config.makeApiClient(k8s.VersionApi).getCode()).gitVersion.startsWith('v1.'), 'the version');
        check((await config.makeApiClient(k8s.ApisApi).getAPIVersions()).groups.length > 5, 'the groups');
        check((await apps.getAPIResources()).resources.length > 5, 'the kinds of apps/v1');
    },
    'collections: deletecollection': async () => {
        await core.deleteCollectionNamespacedConfigMap({ namespace, labelSelector: 'of=client' });
        check((await core.listNamespacedConfigMap({ namespace, labelSelector: 'of=client' })).items.length === 0, 'all are gone');
    },
};

if (process.argv[2] === '--list') {
    console.log(JSON.stringify(Object.keys(parts)));
} else {
    for (const [part, run] of Object.entries(parts)) {
        let error = null;
        try {
            await run();
        } catch (e) {
            error = `${e.message ?? e}`;
        }
        console.log(JSON.stringify({ part, error }));
    }
    process.exit(0);
}
