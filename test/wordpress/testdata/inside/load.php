<?php
/**
 * Loads the site for a script of a test, as nobody; WordPress writes to the
 * globals of whoever loads it, so names have a prefix.
 */

$_SERVER['HTTP_HOST']       = parse_url( getenv( 'WORDPRESS_URL' ), PHP_URL_HOST ) . ':' . parse_url( getenv( 'WORDPRESS_URL' ), PHP_URL_PORT );
$_SERVER['REQUEST_URI']     = '/';
$_SERVER['REQUEST_METHOD']  = 'GET';
$_SERVER['SERVER_PROTOCOL'] = 'HTTP/1.1';
$_SERVER['DOCUMENT_ROOT']   = getenv( 'WORDPRESS_ROOT' );
require getenv( 'WORDPRESS_CORE' ) . '/wp-load.php';
