<?php
// R-BRIDGE-1: tokens are short-lived RS256 JWTs, each for one call.
require __DIR__ . '/check.php';
load( 'token' );

check( 'base64url', interlock_bridge_base64url( "\xfb\xff\xfe" ), '-__-' );
check( 'base64url without padding', interlock_bridge_base64url( 'a' ), 'YQ' );

// RFC 7638, section 3.1.
$modulus = base64_decode( strtr( '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw', '-_', '+/' ) );
check( 'the RFC\'s thumbprint', interlock_bridge_thumbprint( interlock_bridge_jwk( $modulus, "\x01\x00\x01" ) ), 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs' );

$private  = openssl_pkey_get_private( file_get_contents( getenv( 'INTERLOCK_KEY' ) ) );
$details  = openssl_pkey_get_details( $private );
$key      = array(
	'private'  => $private,
	'modulus'  => $details['rsa']['n'],
	'exponent' => $details['rsa']['e'],
);
$settings = array(
	'site_id'   => 'site_0123456789abcdef',
	'tenant_id' => 'acme',
	'kid'       => 'k1',
	'audience'  => 'https://a/b',
);

/** The parts of a token, decoded. */
function parts( string $token ): array {
	return array_map(
		static function ( $part ) {
			return base64_decode( strtr( $part, '-_', '+/' ), true );
		},
		explode( '.', $token )
	);
}

$token                               = interlock_bridge_token( $settings, $key, 'platform:agent:invoke', 1700000000 );
list( $header, $claims, $signature ) = parts( $token );
check( 'header', $header, '{"alg":"RS256","typ":"at+jwt","kid":"k1"}' );
$read = json_decode( $claims, true );
check( 'a token id', 1 === preg_match( '/\A[0-9a-f]{32}\z/', $read['jti'] ), true );
unset( $read['jti'] );
check(
	'claims',
	$read,
	array(
		'iss'       => 'site_0123456789abcdef',
		'sub'       => 'acme',
		'aud'       => 'https://a/b',
		'client_id' => 'site_0123456789abcdef',
		'scope'     => 'platform:agent:invoke',
		'iat'       => 1700000000,
		'exp'       => 1700000120,
	)
);
check( 'slashes as they are', false === strpos( $claims, '\\/' ), true );
check( 'signature', openssl_verify( substr( $token, 0, strrpos( $token, '.' ) ), $signature, $details['key'], OPENSSL_ALGO_SHA256 ), 1 );

$ids = array();
for ( $i = 0; $i < 50; $i++ ) {
	$ids[ json_decode( parts( interlock_bridge_token( $settings, $key, 's', 1 ) )[1], true )['jti'] ] = true;
}
check( 'a token id is used once', count( $ids ), 50 );

$settings['kid'] = '';
$header          = json_decode( parts( interlock_bridge_token( $settings, $key, 's', 1 ) )[0], true );
check( 'without a kid, the thumbprint', $header['kid'], getenv( 'INTERLOCK_THUMBPRINT' ) );
