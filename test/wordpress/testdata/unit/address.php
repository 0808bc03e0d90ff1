<?php
// R-BRIDGE-9: a gateway is reached by https, or it is this same machine.
require __DIR__ . '/check.php';
load( 'address' );

foreach ( array(
	'https://gateway.example.org',
	'https://gateway.example.org:8443',
	'https://gateway.example.org/interlock',
	'HTTPS://gateway.example.org',
	'https://192.0.2.7',
	'https://[2001:db8::1]:8443',
	'http://localhost:8420',
	'http://LOCALHOST',
	'http://127.0.0.1:8420',
	'http://127.255.0.1',
	'http://[::1]:8420',
	'http://[0:0:0:0:0:0:0:1]',
) as $url ) {
	check( $url, interlock_bridge_is_gateway_url( $url ), true );
}
foreach ( array(
	'',
	'gateway.example.org',
	'//gateway.example.org',
	'/gateway',
	'ftp://gateway.example.org',
	'javascript:alert(1)',
	'file:///etc/passwd',
	'https://',
	'https:///path',
	'http://gateway.example.org',
	'http://192.168.0.7',
	'http://10.127.0.1',
	'http://128.0.0.1',
	'http://127.0.0.1.example.org',
	'http://localhost.example.org',
	'http://127.1',
	'http://0x7f000001',
	'http://2130706433',
	'http://[::2]',
	'http://[::ffff:192.0.2.7]',
	'http://localhost@gateway.example.org',
	'https://user@gateway.example.org',
	'https://user:pass@gateway.example.org',
	'https://gateway.example.org?x=1',
	'https://gateway.example.org#x',
	"https://gateway.example.org\n.evil.example",
	'https://gateway.example.org\\@evil.example',
	'https://gateway.example.org/a b',
	'https://' . str_repeat( 'a', 3000 ),
) as $url ) {
	check( $url, interlock_bridge_is_gateway_url( $url ), false );
}
