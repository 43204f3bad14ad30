/* cel_library: what the functions of Kubernetes' libraries give. */
#include "api/cel/cel.h"
#include "base/limits.h"
#include "base/test.h"
#include "wire/json/json.h"

static const char *const truths[] = {
    /* strings */
    "'%s is %d'.format(['a', 5]) == 'a is 5'",
    "'%s'.format([[1, 2]]) == '[1, 2]'",
    "'%s'.format([{'b': 1, 'a': 2}]) == '{a: 2, b: 1}'",
    "'%.2f %e %b %x %X %o %%'.format([1.5, 1.0, 5, 255, 255, 8]) == "
    "'1.50 1.000000e+00 101 ff FF 10 %'",
    "'%x'.format(['ab']) == '6162' && '%s'.format([null]) == 'null'",
    "strings.quote('a\"b') == '\"a\\\\\"b\"'",
    "'abcabc'.indexOf('c', 3) == 5 && 'abcabc'.lastIndexOf('c', 4) == 2",
    "b'ab' == bytes('ab') && string(b'ab') == 'ab' && size(b'h\\xc3\\xa9') > 2",
    /* lists and sets */
    "[1, 2, 3].indexOf(2) == 1 && [1, 2, 1].lastIndexOf(1) == 2",
    "sets.contains([1, 2, 3], [3, 1]) && !sets.contains([1], [2])",
    "sets.equivalent([1, 2, 2], [2, 1]) && sets.intersects([1, 2], [2, 9])",
    "['b', 'a'].max() == 'b' && [1.5, 0.5].min() == 0.5 && ['a', 'b'].isSorted()",
    /* comprehensions */
    "[1, 2].all(i, v, v == i + 1) && {'a': 1}.exists(k, v, k == 'a' && v == 1)",
    "[3, 4].transformList(i, v, i * v) == [0, 4]",
    "[3, 4].transformList(i, v, v > 3, v) == [4]",
    "{'a': 1, 'b': 2}.transformMap(k, v, v * 2) == {'a': 2, 'b': 4}",
    "{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v * 2) == {'b': 4}",
    "{'a': 'x'}.transformMapEntry(k, v, {v: k}) == {'x': 'a'}",
    "[1, 2, 3].existsOne(i, v, v == 2)",
    /* optional values */
    "self.?a.hasValue() && !self.?zzz.hasValue()",
    "self.?zzz.orValue(7) == 7 && self.?a.value() == 5",
    "self.?m.?k.orValue('') == 'w' && self.?n.?k.orValue('none') == 'none'",
    "self.?m.k.orValue('') == 'w'",
    "self.list[?9].orValue('no') == 'no' && self.list[?0].value() == 'x'",
    "self.m[?'k'].optMap(v, v + '!').orValue('') == 'w!'",
    "self.m[?'z'].optMap(v, v + '!').orValue('none') == 'none'",
    "optional.of(1).optFlatMap(v, optional.none()) == optional.none()",
    "optional.ofNonZeroValue('') == optional.none() && optional.of(1).or(optional.of(2)).value() "
    "== 1",
    "[?self.?a, ?self.?zzz] == [5] && {?'x': self.?a, ?'y': self.?zzz} == {'x': 5}",
    /* quantities */
    "quantity('1Gi').sub(quantity('1Mi')).isLessThan(quantity('1Gi'))",
    "quantity('5').add(2) == quantity('7') && quantity('50k').asInteger() == 50000",
    "quantity('1500m').isInteger() == false && quantity('1500m').asApproximateFloat() == 1.5",
    "quantity('-1').sign() == -1 && quantity('1Mi') == quantity('1024Ki')",
    /* addresses */
    "isIP('1.2.3.4') && isIP('::1') && !isIP('1.2.3') && !isIP('::ffff:1.2.3.4')",
    "!isIP('fe80::1%en0') && ip('2001:db8::1').family() == 6",
    "ip.isCanonical('2001:db8::abcd') && !ip.isCanonical('2001:DB8::ABCD')",
    "ip('127.0.0.1').isLoopback() && ip('0.0.0.0').isUnspecified()",
    "ip('169.254.1.1').isLinkLocalUnicast() && ip('224.0.0.1').isLinkLocalMulticast()",
    "ip('10.0.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()",
    "cidr('192.168.0.0/24').containsIP(ip('192.168.0.1'))",
    "cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24')",
    "!cidr('192.168.1.0/24').containsCIDR(cidr('192.168.2.0/24'))",
    "cidr('192.168.1.5/24').ip() == ip('192.168.1.5')",
    "cidr('192.168.1.5/24').masked() == cidr('192.168.1.0/24')",
    "cidr('::1/128').prefixLength() == 128 && string(cidr('10.0.0.0/8')) == '10.0.0.0/8'",
    "isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0/33') && !isCIDR('10.0.0.0')",
    /* URLs */
    "url('https://a.b:80/p%20q?k=1&k=2&l').getHost() == 'a.b:80'",
    "url('https://a.b:80/').getHostname() == 'a.b' && url('https://a.b:80/').getPort() == '80'",
    "url('https://[::1]:80/').getHostname() == '::1' && url('https://x').getPort() == ''",
    "url('https://x/a b').getEscapedPath() == '/a%20b' && url('/p').getScheme() == ''",
    "url('https://x/?k=a&k=b').getQuery() == {'k': ['a', 'b']}",
    "isURL('https://x') && !isURL('../x') && !isURL('https://a:b:c/') && isURL('mailto:x@y')",
    /* semantic versions */
    "semver('1.2.3').compareTo(semver('1.10.0')) == -1 && semver('1.0.0') == semver('1.0.0+x')",
    "semver('1.0.0-alpha.1').isLessThan(semver('1.0.0-alpha.beta'))",
    "semver('1.0.0').isGreaterThan(semver('1.0.0-rc.1')) && semver('1.2.3').minor() == 2",
    "isSemver('1.2.3-a.b+c') && !isSemver('v1.2.3') && !isSemver('1.2') && !isSemver('01.2.3')",
    "isSemver('v1.2', true) && semver('01.02', true) == semver('1.2.0')",
    /* formats */
    "!format.dns1123Label().validate('my-name').hasValue()",
    "format.dns1123Label().validate('My').value()[0].startsWith('a lowercase RFC 1123 label')",
    "format.dns1123Subdomain().validate('a..b').hasValue()",
    "format.named('qualifiedName').hasValue() && !format.named('nothing').hasValue()",
    "!format.qualifiedName().validate('example.com/My_Name').hasValue()",
    "!format.labelValue().validate('').hasValue() && format.labelValue().validate('-').hasValue()",
    "!format.date().validate('2020-02-29').hasValue() && format.date().validate('x').hasValue()",
    "!format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()",
    "!format.datetime().validate('2020-01-01T00:00:00Z').hasValue()",
    "!format.byte().validate('aGVsbG8=').hasValue() && format.byte().validate('?').hasValue()",
    /* dates */
    "timestamp('2024-02-29T12:34:56.789Z').getFullYear() == 2024",
    "timestamp('2024-02-29T00:00:00Z').getMonth() == 1",
    "timestamp('2024-02-29T00:00:00Z').getDate() == 29",
    "timestamp('2024-02-29T00:00:00Z').getDayOfMonth() == 28",
    "timestamp('2024-02-29T00:00:00Z').getDayOfYear() == 59",
    "timestamp('2024-02-29T00:00:00Z').getDayOfWeek() == 4",
    "timestamp('2024-02-29T23:30:00Z').getHours('+01:00') == 0",
    "timestamp('2024-02-29T12:34:56.789Z').getMilliseconds() == 789",
    "duration('1h30m').getHours() == 1 && duration('90s').getSeconds() == 90",
    "duration('1500ms').getMilliseconds() == 1500",
    "int(timestamp('1970-01-01T00:01:00Z')) == 60 && timestamp(60) > timestamp(0)",
    "string(duration('90s')) == '90s'",
    "'é日'.matches('^\\\\p{L}+$') && !'5'.matches('\\\\p{L}') && 'A'.matches('\\\\p{Lu}')",
    /* JSON patches */
    "jsonpatch.escapeKey('a/b~c') == 'a~1b~0c'",
};

static const struct {
    const char *text, *why;
} errors[] = {
    {"quantity('x').sign() == 0", "quantities must match the regular expression"},
    {"ip('1.2.3').family() == 4", "IP Address parse error during conversion from string"},
    {"url('../x').getHost() == ''", "URL parse error during conversion from string"},
    {"semver('v1').major() == 1", "is not a valid semantic version"},
    {"optional.none().value() == 1", "optional.none() dereference"},
    {"'%d'.format(['a']) == ''", "decimal clause can only be used on integers"},
    {"'%s'.format([]) == ''", "index out of range"},
    {"{'a': 1, 'a': 2}.size() == 1", "Failed with repeated key"},
    {"{'a': 1, 'b': 1}.transformMapEntry(k, v, {'x': v}).size() == 1", "already exists"},
    {"timestamp('2024-02-29T00:00:00Z').getHours('Europe/Berlin') == 0", "unknown time zone"},
    {"quantity('1500m').asInteger() == 1", "cannot convert value to integer"},
    {"authorizer.group('').resource('x').check('y').allowed()", "undeclared reference"},
};

static enum cel_outcome check(struct arena *a, const char *text, struct str *why) {
    const struct cel_expr *e;
    yyjson_doc *d;
    struct err err = {0};
    assert_int_equal(
        json_parse(a, STR("{\"a\":5,\"list\":[\"x\",\"y\"],\"m\":{\"k\":\"w\"}}"), &d, NULL), 0);
    if (cel_parse(a, str_of(text), &e, &err) != 0) {
        fail_msg("%s: %s", text, err.text);
    }
    struct cel_input in = {
        .self = yyjson_doc_get_root(d), .arena = a, .limit = LIMIT_CEL_STEPS_OBJECT};
    return cel_check(e, &in, why);
}

static void test_truths(void **state) {
    struct arena a;
    struct str why = {0};
    for (size_t i = 0; i < sizeof(truths) / sizeof(truths[0]); i++) {
        arena_init(&a, 8 << 20);
        if (check(&a, truths[i], &why) != CEL_TRUE) {
            fail_msg("not true: %s (%.*s)", truths[i], STR_ARG(why));
        }
        arena_release(&a);
    }
}

static void test_errors(void **state) {
    struct arena a;
    struct str why = {0};
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        arena_init(&a, 8 << 20);
        if (check(&a, errors[i].text, &why) != CEL_ERROR ||
            !str_contains(why, str_of(errors[i].why))) {
            fail_msg("%s: %.*s", errors[i].text, STR_ARG(why));
        }
        arena_release(&a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truths),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
